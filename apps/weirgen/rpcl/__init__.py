# SPDX-License-Identifier: BSD-3-Clause
"""The parts of weirgen: each module is one step from the text of an .x file to C.

main.py      the command line
source.py    reads a file, with or without the C preprocessor
parse.py     turns the text into definitions, by grammar.lark
model.py     the definitions and types of the RPC language
check.py     finds what a type name or a constant refers to, and errors
bounds.py    computes sizes and counts of items
names.py     how types are called in C
reserved.py  names that C, C++ and the generated code need
weir_names.py  the names of weir, which the build lists
c_names.py   chooses the names of definitions in C
types.py     writes C types
codec.py     writes encoders and decoders
rpc.py       writes bindings, dispatchers and client stubs
messages.py  writes dispatchers for other transports than weir
text.py      lines of C
output.py    puts the files together
"""

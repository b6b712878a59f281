# SPDX-License-Identifier: BSD-3-Clause
"""The version of weir. The build replaces the text."""

VERSION = '@VERSION@'

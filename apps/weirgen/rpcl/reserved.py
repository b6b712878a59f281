# SPDX-License-Identifier: BSD-3-Clause
"""Names that C, C++, their libraries and the generated code need for themselves."""

import re

from rpcl import weir_names

# Keywords of C and C++, names that their compilers define, types that the generated code uses, and
# the values of bool.
WORDS = frozenset('''
alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool
break case catch char char8_t char16_t char32_t class compl concept const consteval constexpr
constinit const_cast continue co_await co_return co_yield decltype default delete do double
dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
namespace new noexcept not not_eq nullptr operator or or_eq private protected public reflexpr
register reinterpret_cast requires restrict return short signed sizeof static static_assert
static_cast struct switch synchronized template this thread_local throw true try typedef typeid
typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t unix linux TRUE FALSE
'''.split())

# Macros of the C library that stand for values: those of C11, without <complex.h>, and those of
# <errno.h> of Linux.
ERRORS = frozenset('''
E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADE EBADF EBADFD EBADMSG
EBADR EBADRQC EBADSLT EBFONT EBUSY ECANCELED ECHILD ECHRNG ECOMM ECONNABORTED ECONNREFUSED
ECONNRESET EDEADLK EDEADLOCK EDESTADDRREQ EDOM EDOTDOT EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN
EHOSTUNREACH EHWPOISON EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR EISNAM EKEYEXPIRED
EKEYREJECTED EKEYREVOKED EL2HLT EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC ELIBMAX ELIBSCN
ELNRNG ELOOP EMEDIUMTYPE EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENAVAIL ENETDOWN ENETRESET
ENETUNREACH ENFILE ENOANO ENOBUFS ENOCSI ENODATA ENODEV ENOENT ENOEXEC ENOKEY ENOLCK ENOLINK
ENOMEDIUM ENOMEM ENOMSG ENONET ENOPKG ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN
ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP ENOTTY ENOTUNIQ ENXIO EOPNOTSUPP
EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE EREMCHG
EREMOTE EREMOTEIO ERESTART ERFKILL EROFS ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRCH ESRMNT ESTALE
ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUCLEAN EUNATCH EUSERS EWOULDBLOCK EXDEV EXFULL
'''.split())
MACROS = frozenset('''
ATOMIC_FLAG_INIT BUFSIZ CHAR_BIT CHAR_MAX CHAR_MIN CLOCKS_PER_SEC DECIMAL_DIG EOF EXIT_FAILURE
EXIT_SUCCESS FE_ALL_EXCEPT FE_DFL_ENV FE_DIVBYZERO FE_DOWNWARD FE_INEXACT FE_INVALID FE_OVERFLOW
FE_TONEAREST FE_TOWARDZERO FE_UNDERFLOW FE_UPWARD FILENAME_MAX FLT_EVAL_METHOD FLT_RADIX FLT_ROUNDS
FOPEN_MAX FP_FAST_FMA FP_FAST_FMAF FP_FAST_FMAL FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL
FP_SUBNORMAL FP_ZERO HUGE_VAL HUGE_VALF HUGE_VALL INFINITY INT_MAX INT_MIN LC_ADDRESS LC_ALL
LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES LC_MONETARY LC_NAME LC_NUMERIC
LC_PAPER LC_TELEPHONE LC_TIME LLONG_MAX LLONG_MIN LONG_MAX LONG_MIN L_tmpnam MATH_ERREXCEPT
MATH_ERRNO MB_CUR_MAX MB_LEN_MAX NAN NDEBUG NULL ONCE_FLAG_INIT RAND_MAX SCHAR_MAX SCHAR_MIN
SEEK_CUR SEEK_END SEEK_SET SHRT_MAX SHRT_MIN SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE
SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGRTMAX SIGRTMIN
SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2
SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ SIG_DFL SIG_ERR SIG_IGN TIME_UTC TMP_MAX TSS_DTOR_ITERATIONS
UCHAR_MAX UINT_MAX ULLONG_MAX ULONG_MAX USHRT_MAX WEOF errno math_errhandling noreturn stderr stdin
stdout
'''.split()) | ERRORS
FAMILIES = re.compile('''
U?INT(_LEAST|_FAST)?(8|16|32|64)_(MIN|MAX) | U?INT(MAX|PTR)_(MIN|MAX) | U?INT(8|16|32|64|MAX)_C |
(PTRDIFF|SIG_ATOMIC|SIZE|WCHAR|WINT)_(MIN|MAX) |
(PRI|SCN)[dioxuX]((LEAST|FAST)?(8|16|32|64)|MAX|PTR) |
ATOMIC_(BOOL|CHAR|CHAR16_T|CHAR32_T|WCHAR_T|SHORT|INT|LONG|LLONG|POINTER)_LOCK_FREE |
(FLT|DBL|LDBL)_(DECIMAL_DIG|DIG|EPSILON|HAS_SUBNORM|MANT_DIG|MAX|MIN|(MAX|MIN)(_10)?_EXP|TRUE_MIN)
''', re.X)

# Other types of the headers of the C library that those of weir include.
TYPES = frozenset('''
error_t int_fast8_t int_fast16_t int_fast32_t int_fast64_t int_least8_t int_least16_t int_least32_t
int_least64_t intmax_t intptr_t locale_t max_align_t nullptr_t ptrdiff_t uint_fast8_t uint_fast16_t
uint_fast32_t uint_fast64_t uint_least8_t uint_least16_t uint_least32_t uint_least64_t uintmax_t
uintptr_t
'''.split())
# Functions and variables of these headers.
DECLARED = frozenset('''
basename bcmp bcopy bzero explicit_bzero ffs ffsl ffsll index memccpy memchr memcmp
memcpy memfrob memmem memmove mempcpy memrchr memset program_invocation_name
program_invocation_short_name rawmemchr rindex sigabbrev_np sigdescr_np stpcpy stpncpy strcasecmp
strcasecmp_l strcasestr strcat strchr strchrnul strcmp strcoll strcoll_l strcpy strcspn strdup
strerror strerror_l strerror_r strerrordesc_np strerrorname_np strfry strlen strncasecmp
strncasecmp_l strncat strncmp strncpy strndup strnlen strpbrk strrchr strsep strsignal strspn strstr
strtok strtok_r strverscmp strxfrm strxfrm_l
'''.split())

# Parameters, variables and functions of the generated code: in NAME_xdr, and in the other files.
XDR_LOCAL = frozenset('arena bytes count i in is_present j k l out v value'.split())
RPC_LOCAL = frozenset('''
all arg args call complete conn decoder get_result_item handlers max_bytes memory nrooms offer_rooms
params proc program put_call_item put_reply_item rc req result results rooms server status status_of
'''.split())
# Members of structures of weir that the generated code uses, and its own members.
MEMBERS = frozenset('''
accept_stat arg arg_items_max args_max_bytes cast codec data end handle handlers is_exhausted item
items len len_bytes max_bytes memory memory_bytes name nitems non_idempotent nprocs p proc procs
prog region reply reply_stat result_items_max results results_max_bytes room status struct_bytes
stub ulb vers vers_high vers_low weir
'''.split())


def is_reserved(name):
    """Returns whether no part of C and C++ can use a name: it is a keyword or a macro."""
    return name in WORDS or name in MACROS or name in weir_names.MACROS or \
        FAMILIES.fullmatch(name) is not None

"""exported-ctypes: exported timers in Python, for notebooks.

    timerlab export hier-wheel --prefix timers -o timers
    cc -O2 -shared -fPIC timers/timers.c -o timers.so
    python3 exported-ctypes.py
"""

from ctypes import CDLL, CFUNCTYPE, POINTER, byref, c_uint32, c_uint64, c_void_p

lib, fire_type = CDLL("./timers.so"), CFUNCTYPE(None, c_void_p, c_uint32, c_uint64)
lib.timers_create.argtypes = [POINTER(c_void_p), c_uint32, c_uint64, c_uint64, c_void_p]
lib.timers_start.argtypes = [c_void_p, c_uint32, c_uint64]
lib.timers_advance.argtypes = [c_void_p, c_uint64, c_uint64, fire_type, c_void_p]
timers = c_void_p()
assert lib.timers_create(byref(timers), 1000, 0, 1000, None) == 0
assert lib.timers_start(timers, 7, 30) == 0
lib.timers_advance(timers, 1000, 2**64 - 1, fire_type(lambda _, id, now: print(id, "expires")), None)

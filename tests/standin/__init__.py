"""A stand-in for the HIP runtime, so that the backend for AMD GPUs can be tested where there is none.

`amdhip64.c` is the library that hip-python loads in the child process; `server` emulates what it is asked to launch. What they
show is the backend's own behaviour: protocol, guards, watchdog, statuses, statistics. They say nothing about hardware.
"""

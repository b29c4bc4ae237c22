"""What a profiler measured on a device, by instruction: rocprofv3's PC samples and thread traces.

`reading` finds out what a file is, `pc_sampling` and `thread_trace` read it, `matching` finds the instructions of a kernel that
its rows are of.
"""

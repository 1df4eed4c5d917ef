"""DLTensor of DLPack, as ctypes has it: how programs hand each other arrays in memory of a host or a device."""

from __future__ import annotations

import ctypes

__all__ = ["CPU", "CUDA", "DLTensor"]

CPU, CUDA = 1, 2  # kDLCPU, kDLCUDA of DLDeviceType


class DLTensor(ctypes.Structure):
    """`code`, `bits` and `lanes` are those of DLDataType; strides count elements."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]

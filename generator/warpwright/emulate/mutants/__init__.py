"""Alters a kernel's PTX one instruction at a time and sees whether the emulator notices."""

"""Mutants of kernels on a real GPU: does the device contradict what the emulator says of them?"""

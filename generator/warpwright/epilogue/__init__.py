"""Epilogue operations: what happens to the accumulator between the last MMA and the store."""

"""The text: its parts, its reader, its control flow."""

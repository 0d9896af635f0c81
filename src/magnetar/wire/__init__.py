"""The protocol: frames, commands, handshake, keep-alive. Bytes in, values out; no I/O, no clock."""

"""From IR to bytes and to behaviour: assembler, writer, emulator, cycle model."""

"""From bytes or text to IR: code objects, descriptors, metadata, disassembly, parsing, lowering."""

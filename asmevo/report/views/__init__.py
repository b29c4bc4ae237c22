"""The views of `analyze`: each module turns a subject into plain data, and that data into lines of text."""

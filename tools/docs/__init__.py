"""The documentation site: pages that are made from the code, and the hooks that put them into the build."""

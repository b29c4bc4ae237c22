"""Tools for those who work on AsmEvo; nothing here ships in the wheel."""

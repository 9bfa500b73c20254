"""Plain POSIX, for macOS and others: `ps`, psutil, process groups, sessions, and polling."""

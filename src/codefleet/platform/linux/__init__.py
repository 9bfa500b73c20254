"""Linux: /proc, pidfds, subreapers, inotify and control groups. Only code in here uses them."""

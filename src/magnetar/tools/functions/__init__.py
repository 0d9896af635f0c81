"""``magnetar functions``: what creates functions, looks at them and runs their worker."""

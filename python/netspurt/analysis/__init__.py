"""Statistics over tables and series."""

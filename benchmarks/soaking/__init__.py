"""Parts of the suite ``soak``: one file each. A trial takes a seed and a folder, and raises if anything is wrong."""

"""Relations: several rows of one person, and what is drawn for a row given another one."""

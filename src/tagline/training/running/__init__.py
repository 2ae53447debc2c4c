"""A run as people see it: who is told after each pass, what is drawn, what is kept so that it can go on."""

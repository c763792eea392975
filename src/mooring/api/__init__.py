"""What things are: values and their rules, with no I/O and no clock. Every other room may import this one."""

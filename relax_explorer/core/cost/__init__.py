"""What a program costs. In reading order: amounts, work, kernel_work, operator_work, function_work, lives, memory_use, program_cost."""

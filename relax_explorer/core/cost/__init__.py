"""What a program costs.

In reading order: amounts, work, kernel_work, machine_lengths, operator_work, call_order, function_work, parameters, memory_use, lives,
program_cost.
"""

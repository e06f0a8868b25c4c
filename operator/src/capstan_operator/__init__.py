"""The operator half of Capstan: turns a TrainingJob into tasks and brings failed tasks back."""

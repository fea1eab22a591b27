"""What users write jobs with."""

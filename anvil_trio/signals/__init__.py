"""What the engines say of their own load: texts, observations, ages, and who reads them when."""

"""Hidden Markov models: observations → log probabilities → chains."""

"""Models: who answers. A model turns instances into predictions and never knows which family it
serves.
"""

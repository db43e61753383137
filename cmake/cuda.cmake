# Looks for the CUDA toolkit and says whether the .cu twins are built: TARE_HAS_CUDA.
set(TARE_HAS_CUDA OFF)

// Parts of the catalogue, a function a family of writers. Each adds its rows.
#pragma once

#include <vector>

#include "packing/catalogue.h"

namespace trilith::packing {

void add_ggml_rows(std::vector<CatalogueRow>& rows);  // llama.cpp and its forks
void add_library_rows(
    std::vector<CatalogueRow>& rows);                   // quantisation libraries of PyTorch and MLX
void add_kernel_rows(std::vector<CatalogueRow>& rows);  // tile orders

}  // namespace trilith::packing

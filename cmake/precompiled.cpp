// Nothing but the headers that nearly every file includes: builds with sanitizers parse them once (cmake/layers.cmake).

// Nothing but the headers that nearly every file includes, which are parsed once (cmake/layers.cmake).

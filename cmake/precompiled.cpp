// Nothing but the headers that nearly every file includes: quick builds parse them once (cmake/layers.cmake).

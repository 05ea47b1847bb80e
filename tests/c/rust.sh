# rust.sh RUSTC SOURCE LIBRARY_FOLDER PROGRAM: builds the Rust program and runs it.
set -e
"$1" --edition 2021 -o "$4" -L "$3" -C "link-arg=-Wl,-rpath,$3" "$2"
exec "$4"

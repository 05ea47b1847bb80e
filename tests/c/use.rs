// The library from Rust, without crates: what bindgen would write of the header, and one run.
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr;

#[repr(C)]
struct Device {
    device_type: c_int,
    device_id: i32,
}
#[repr(C)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    ndim: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

enum Program {}
enum Options {}

#[link(name = "tessera")]
extern "C" {
    fn tsr_version() -> *const c_char;
    fn tsr_last_error() -> *const c_char;
    fn tsr_compile_text(text: *const c_char, file: *const c_char, options: *const Options, out: *mut *mut Program) -> c_int;
    fn tsr_run_into(
        program: *const Program,
        inputs: *const *const Tensor,
        input_count: usize,
        outputs: *const *const Tensor,
        output_count: usize,
        options: *const Options,
    ) -> c_int;
    fn tsr_program_free(program: *mut Program);
}

fn floats(data: &mut [f32], shape: &mut [i64]) -> Tensor {
    Tensor {
        data: data.as_mut_ptr() as *mut c_void,
        device: Device { device_type: 1, device_id: 0 },
        ndim: shape.len() as i32,
        dtype: DataType { code: 2, bits: 32, lanes: 1 },
        shape: shape.as_mut_ptr(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    }
}

fn main() {
    let text = CString::new(
        "stencil f(vector#2 float X) { return X@[0,-1] + X@[0,1]; } parameter M, N; vector#2 float a[M,N]; return f(a:wrap);",
    )
    .unwrap();
    let (mut image, mut result) = ([1f32, 2., 3., 4., 5., 6.], [0f32; 6]);
    let mut shape = [2i64, 3];
    unsafe {
        let mut program = ptr::null_mut();
        let status = tsr_compile_text(text.as_ptr(), ptr::null(), ptr::null(), &mut program);
        assert_eq!(status, 0, "{:?}", CStr::from_ptr(tsr_last_error()));
        let (a, b) = (floats(&mut image, &mut shape), floats(&mut result, &mut shape));
        let status = tsr_run_into(program, [&a as *const Tensor].as_ptr(), 1, [&b as *const Tensor].as_ptr(), 1, ptr::null());
        assert_eq!(status, 0, "{:?}", CStr::from_ptr(tsr_last_error()));
        tsr_program_free(program);
        println!("tessera {:?}: {:?}", CStr::from_ptr(tsr_version()), result);
    }
    assert_eq!(result, [5., 4., 3., 11., 10., 9.]);
}

//! Loops that are compiled twice: for every processor, and for those with registers of 256 bits and fused steps. Which of the two runs
//! is decided when it is called; both compute the same bits, since Rust neither reorders sums nor fuses products on its own.

/// Whether the processor has what the wide loops are compiled for.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn is_wide() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// Functions with loops inside. What they call is compiled for the wide registers only where it is compiled into them: so loops are
/// written as such, since a closure that an iterator calls may stay a function of its own.
#[macro_export]
macro_rules! widest {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident<$($g:ident: $bound:path),*>($($arg:ident: $t:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => { $(
        $(#[$meta])*
        $vis fn $name<$($g: $bound),*>($($arg: $t),*) $(-> $ret)? {
            #[inline(always)]
            fn body<$($g: $bound),*>($($arg: $t),*) $(-> $ret)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,fma")]
                fn wide<$($g: $bound),*>($($arg: $t),*) $(-> $ret)? {
                    body::<$($g),*>($($arg),*)
                }
                if $crate::widest::is_wide() {
                    // SAFETY: the processor has just been asked for the features.
                    return unsafe { wide::<$($g),*>($($arg),*) };
                }
            }
            body::<$($g),*>($($arg),*)
        }
    )* };
}
pub use widest;

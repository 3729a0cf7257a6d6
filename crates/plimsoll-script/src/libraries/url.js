// URL and URLSearchParams as a module; both are native and global too.
const { URL, URLSearchParams } = globalThis;
export { URL, URLSearchParams };
export default URL;

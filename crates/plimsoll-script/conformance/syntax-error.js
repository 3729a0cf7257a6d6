/* { "does": "a syntax error has its place", "load_error": "syntax-error.js:2:", "exit": 107 } */
let a = 1 +;
export default function () {
  return;
}

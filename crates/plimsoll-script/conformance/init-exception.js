/* { "does": "an exception in the init code has its place", "load_error": "init-exception.js:2:", "exit": 107 } */
throw new Error('early');
export default function () {
  return;
}

/* { "own_context": "promises", "does": "a rejected promise that nobody looks at makes setup fail", "exception": "Uncaught (in promise) Error: no data", "console": [] } */
export function setup() {
  Promise.reject(new Error('no data'));
  return 1;
}
export default function () {
  console.log('never');
}

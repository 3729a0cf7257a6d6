/* { "own_context": "promises", "does": "of several promises that nobody looks at the first is the exception, whatever it is", "exception": "Uncaught (in promise) first" } */
export default async function () {
  Promise.reject('first');
  Promise.reject(2);
}

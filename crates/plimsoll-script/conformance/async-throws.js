/* { "own_context": "promises", "does": "a rejected promise is an exception of the iteration", "exception": "Error: later" } */
export default async function () {
  await null;
  throw new Error('later');
}

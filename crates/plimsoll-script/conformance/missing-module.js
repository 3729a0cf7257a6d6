/* { "own_context": "promises", "does": "a module of k6 that is not there yet ends the test, also where its refusal is caught", "k6": "k6 has it", "missing": "cannot import \"k6/ws\"", "console": [], "exit": 107 } */
export default async function () {
  try {
    await import('k6/ws');
  } catch (error) {
    console.log('caught', error);
  }
  console.log('went on');
}

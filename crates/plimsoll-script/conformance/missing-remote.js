/* { "own_context": "require", "does": "a module of the network, which is not fetched, ends the test, also where its refusal is caught", "k6": "k6 fetches it", "missing": "cannot import \"https://cdn.test/lodash.js\"", "console": [], "exit": 107 } */
export default function () {
  try {
    require('https://cdn.test/lodash.js');
  } catch (error) {
    console.log('caught', error);
  }
  console.log('went on');
}

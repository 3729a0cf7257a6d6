/* { "own_context": "promises", "does": "what crypto.subtle does not have yet says so and ends the test", "k6": "k6 has it", "missing": "crypto.subtle.importKey() is not there yet", "console": [], "exit": 107 } */
export default async function () {
  try {
    await crypto.subtle.importKey('raw', new Uint8Array(4), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  } catch (error) {
    console.log('caught', error);
  }
  console.log('went on');
}

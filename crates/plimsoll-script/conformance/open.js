/* { "does": "open reads text and bytes relative to the script", "console": ["one,two 7 111"] } */
const text = open('./data/list.txt');
const bytes = open('./data/list.txt', 'b');
export default function () {
  console.log(text.trim().split('\n').join(), bytes.byteLength - 1, new Uint8Array(bytes)[0]);
}

/* { "does": "open works in the init code only", "exception": "init code" } */
export default function () {
  open('./data/list.txt');
}
